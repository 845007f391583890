import Testing
@Test func placeholderMeshReplicationTests() { }
