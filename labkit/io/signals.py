"""The signals that end a command of labkit. It imports `signal` alone: handlers are set before anything else loads."""

import signal

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
