import Foundation
import MeshCore

/// A decoder as libFuzzer tries it. `tools/fuzz` builds this with the decoders, and with what the tests know of them.
struct FuzzTarget: Sendable {
  let name: String
  /// Throws where the decoder does what it never may.
  let run: @Sendable ([UInt8]) throws -> Bool
  let seeds: @Sendable () throws -> [[UInt8]]

  static let all: [FuzzTarget] =
    WireForm.all.map { form in
      FuzzTarget(
        name: form.description.replacingOccurrences(of: " ", with: "-"), run: { try form.accepts($0) },
        seeds: { try seeds(form) })
    } + [
      link("handshake", FuzzedLink.handshake, [[], [UInt8](repeating: 0, count: 192) + [1]]),
      link("handshake-garbage", FuzzedLink.garbage, [[0, 32] + [UInt8](repeating: 9, count: 32)]),
      link("frames", FuzzedLink.frames, [[0, 3, 1, 7, 7, 0, 2, 1, 5], [0xff, 0xfe, 0], [0xff, 0, 0, 20, 1, 2, 3]]),
    ]

  private static func link(
    _ name: String, _ run: @escaping @Sendable ([UInt8]) throws -> Void, _ seeds: [[UInt8]]
  ) -> FuzzTarget {
    FuzzTarget(
      name: name,
      run: {
        try run($0)
        return true
      }, seeds: { seeds })
  }

  /// Every vector of the specification that the decoder accepts, and some random values.
  private static func seeds(_ form: WireForm) throws -> [[UInt8]] {
    let files = try FileManager.default.contentsOfDirectory(atPath: VectorFile.folder.path)
    var seeds: [[UInt8]] = []
    for file in files where file.hasSuffix(".txt") {
      let vectors = try VectorFile(String(file.dropLast(4))).vectors.values
      seeds += vectors.flatMap { [$0.bytes] + [Array(($0.text ?? "").utf8)] }
    }
    var generator = Generator(seed: 1)
    let random = try (0..<30).map { _ in try form.random(&generator) }
    return try seeds.filter { try form.accepts($0) } + random
  }

  /// The one that the environment names.
  static let chosen = all.first { $0.name == ProcessInfo.processInfo.environment["MESH_FUZZ_TARGET"] }

  /// What is asked of the program beside fuzzing: the names of the targets, or a folder of seeds.
  static func answer() {
    guard let chosen else {
      print(all.map(\.name).joined(separator: "\n"))
      return end(0)
    }
    guard let folder = ProcessInfo.processInfo.environment["MESH_FUZZ_SEEDS"] else { return }
    do {
      for (index, seed) in try chosen.seeds().enumerated() {
        try Data(seed).write(to: URL(fileURLWithPath: "\(folder)/seed-\(index)"))
      }
      end(0)
    } catch {
      print("no seeds: \(error)")
      end(1)
    }
  }

  /// Without libFuzzer's handler, which takes every end for a crash.
  private static func end(_ code: CInt) {
    fflush(nil)
    _exit(code)
  }
}

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
  FuzzTarget.answer()
  return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: bytes, count: count))
  do {
    // What is refused is no news for the corpus unless it took another way.
    _ = try FuzzTarget.chosen?.run(input)
  } catch {
    print("FAULT: \(error)")
    abort()
  }
  return 0
}
