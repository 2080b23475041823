"""The console: the service in a browser. It is a client with no rule of its own: each button is its visitor's call."""
