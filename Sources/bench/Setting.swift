import ArgumentParser
import Dispatch

/// What every measurement is told: which program, which parts, and how the figures are printed.
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

  /// In a workshop that is gone afterwards, also where the benchmark is told to stop.
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
