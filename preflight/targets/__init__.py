"""Flag tables of Megatron releases, how they are read from a checkout, and which of them a launch means."""
