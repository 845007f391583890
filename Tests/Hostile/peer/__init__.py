"""An independent implementation of the mesh protocol, written from its documents."""
