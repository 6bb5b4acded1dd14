"""Facts: the named values that rules speak of, given or derived as Megatron derives them."""
