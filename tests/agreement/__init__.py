"""preflight's word against Megatron's own, over the recorded command lines in `fixtures/oracle/`."""
