import Testing
@Test func placeholderMeshTransportTests() { }
