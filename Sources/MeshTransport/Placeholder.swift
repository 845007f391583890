enum MeshTransportPlaceholder {}
