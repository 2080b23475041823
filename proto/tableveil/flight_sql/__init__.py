"""The messages of Flight SQL, which Arrow specifies, and the stubs that `make protos` generates from them."""
