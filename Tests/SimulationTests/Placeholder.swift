import Testing
@Test func placeholderSimulationTests() { }
