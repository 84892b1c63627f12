"""The target of ``bullrush worker target:worker``: a worker whose options come from the environment."""

import faulthandler
import json
import os
import signal

from worker import make_worker

from tests.faults.suite.ledger import Ledger

faulthandler.register(signal.SIGUSR1)
_options = json.loads(os.environ["FAULTS_SETTINGS"])
_queue = _options.pop("queue")
worker = make_worker(os.environ["FAULTS_URL"], Ledger(os.environ["FAULTS_LEDGER"]), _queue, _options)
