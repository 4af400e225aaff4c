"""The scenes of the contract: short programs of requests, each of which ends with the request that is judged."""
