import ArgumentParser
import Dispatch

/// The options of every measurement: the program, the parts, and the form of the figures.
struct Setting<Part>: ParsableArguments
where Part: CaseIterable & RawRepresentable & ExpressibleByArgument & Sendable, Part.RawValue == String {
  @Option(help: "The program to measure.")
  var mesh = Machine.siblingProgram("mesh")

  @Option(
    parsing: .upToNextOption, help: "Only these: \(Part.allCases.map(\.rawValue).joined(separator: ", ")).")
  var only: [Part] = []

  @Flag(help: "Print JSON.")
  var json = false

  var parts: [Part] { only.isEmpty ? Array(Part.allCases) : only }

  /// Measures in a workshop that is removed afterwards, even if the benchmark is told to stop.
  func measure(_ body: (Workshop, inout FigurePrinter) throws -> Void) throws {
    let signals = Interruption.handle()
    defer { for source in signals { source.cancel() } }
    let workshop = try Workshop(mesh: mesh)
    defer { workshop.close() }
    var printer = FigurePrinter(json: json)
    try body(workshop, &printer)
    printer.finish()
  }
}
