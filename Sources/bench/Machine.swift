import Foundation

/// The questions of the benchmark to the operating system.
enum Machine {
  /// Returns the seconds of the clock that all processes share and that is never set.
  static func seconds() -> Double { Double(nanoseconds()) / 1e9 }

  static func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  static func time(_ body: () throws -> Void) rethrows -> Double {
    let start = seconds()
    try body()
    return seconds() - start
  }

  /// Returns the seconds that work in this process takes, and those of processor time.
  static func cost(_ body: () throws -> Void) throws -> (time: Double, work: Double) {
    let before = try processorTime(getpid())
    let time = try time(body)
    return (time, try processorTime(getpid()) - before)
  }

  /// Writes a line immediately, because its reader waits for it.
  static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

  /// Returns the path of a program built beside this one.
  static func siblingProgram(_ name: String) -> String {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
  }

  /// Returns the memory in use, in MiB.
  static func residentMemory(_ process: Int32) throws -> Double { try status(process, "VmRSS") }

  /// Returns the most memory that was in use since `forgetPeak`, in MiB.
  static func peakMemory(_ process: Int32) throws -> Double { try status(process, "VmHWM") }

  static func forgetPeak(_ process: Int32) throws {
    // The value 5 resets the high-water mark, see proc(5).
    try "5".write(toFile: "/proc/\(process)/clear_refs", atomically: false, encoding: .utf8)
  }

  private static func status(_ process: Int32, _ name: String) throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    guard let word = line?.split(whereSeparator: \.isWhitespace).dropFirst().first, let kilobytes = Double(word) else {
      throw Trouble("/proc/\(process)/status has no \(name)")
    }
    return kilobytes / 1024
  }

  /// Returns the seconds of processor time of all processes together.
  static func processorTime(_ processes: [Int32]) throws -> Double {
    try processes.reduce(0) { try $0 + processorTime($1) }
  }

  /// Returns the seconds of processor time since the process began.
  static func processorTime(_ process: Int32) throws -> Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      throw Trouble("process \(process) has no clock")
    }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Waits until a condition holds, at most ten minutes.
  ///
  /// - Parameters:
  ///   - trouble: The report if it never holds.
  ///   - pause: The time between two checks, in microseconds.
  static func wait(_ trouble: String, pause: UInt32 = 1_000, until holds: () throws -> Bool) throws {
    let deadline = seconds() + 600
    while try !holds() {
      guard seconds() < deadline else { throw Trouble(trouble) }
      usleep(pause)
    }
  }
}

/// The reason that nothing can be measured.
struct Trouble: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
