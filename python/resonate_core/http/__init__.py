"""HTTP as a client speaks it: addresses, bounded answers, streams, batches, and the two ends that run the calls of `calls` on a server."""
