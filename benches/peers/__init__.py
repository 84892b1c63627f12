"""The programs that are compared, each a process of its own that talks with the harness in lines of text."""
