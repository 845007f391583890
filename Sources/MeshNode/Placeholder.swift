enum MeshNodePlaceholder {}
