enum MeshReplicationPlaceholder {}
