"""What a client can ask of a server, a class of methods for each part of the service."""
