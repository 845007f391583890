import Testing
@Test func placeholderMeshCoreTests() { }
