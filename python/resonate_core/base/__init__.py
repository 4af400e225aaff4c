"""What all other packages use: instants, states, payloads, argument errors. It knows no call and no server."""
