import MeshCore

/// The values that this device wrote to a record, that were reverted, and that are to be written again.
struct Rewrite {
  struct Cell {
    let time: HybridTime
    let value: Value
  }

  let ref: RecordRef
  let generation: UInt64
  /// The time of the birth or delete, if this device was its author.
  let life: HybridTime?
  let cells: [Int64: Cell]

  /// The columns and times of the values, as bytes.
  var times: [UInt8] {
    var times = ByteWriter()
    times.list(cells.keys.sorted()) { writer, column in
      writer.varint(UInt64(column))
      writer.uint64(cells[column]?.time.value ?? 0)
    }
    return times.bytes
  }

  /// Returns the bytes that it takes in a change set, without long values.
  func size(inlining threshold: Int) -> Int {
    cells.values.reduce(ref.key.encodedBound + 48) { size, cell in
      size + 12
        + (cell.value.asset.map { AssetManifest.encodedBound(size: $0.size) }
          ?? min(cell.value.encodedBound, threshold + 6))
    }
  }
}

extension Rewrite {
  init(
    _ ref: RecordRef, generation: UInt64, life: HybridTime?, times: [UInt8], values: [Int64: Value]
  ) throws {
    var reader = ByteReader(times)
    var cells: [Int64: Cell] = [:]
    for _ in 0..<(try reader.count(Int.max, "times")) {
      let column = Int64(try reader.count(Int.max, "column"))
      cells[column] = Cell(time: HybridTime(try reader.uint64()), value: values[column] ?? .null)
    }
    self.init(ref: ref, generation: generation, life: life, cells: cells)
  }
}
