"""The gRPC contract, version 1: the protos and the stubs that `make protos` generates from them."""
