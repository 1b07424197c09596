"""The command line: one file a command. Installed as ``irloop_cli``."""
