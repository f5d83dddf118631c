"""What TCP of the running Linux kernel does over a modelled path."""
