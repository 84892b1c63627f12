"""Flows: trees of jobs in any queues, where each parent waits for its children."""

from bullrush.flow.plan import Flow, QueueDefaults
from bullrush.flow.producer import FlowOptions, FlowProducer, JobNode

__all__ = ["Flow", "FlowOptions", "FlowProducer", "JobNode", "QueueDefaults"]
