"""The command line, one file per command. Installed as ``irloop_cli``."""
