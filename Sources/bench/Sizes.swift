/// Measures the size of a row on the wire, in batches, and the size of its record on disk.
struct Sizes {
  let workshop: Workshop
  private static let batches = 10
  private static let batch = 1_000

  func measure() throws -> [Figure] {
    let items = Items(Self.batches * Self.batch)
    let pair = try workshop.pair()
    let database = try pair.a.open()
    let insert = try Prepared(database, Items.insertion)
    let before = try database.integer("SELECT total(size) FROM mesh_log")
    for batch in 0..<Self.batches {
      try database.run("BEGIN IMMEDIATE")
      try items.insert(batch * Self.batch..<(batch + 1) * Self.batch, insert)
      try database.run("COMMIT")
      try pair.a.wait()
    }
    pair.stop()
    let rows = Double(items.count)
    let sent = Double(try database.integer("SELECT total(size) FROM mesh_log") - before) / rows
    // This is the row as SQLite stores it, without its page's overhead.
    let row = Double(try database.integer("SELECT sum(payload) FROM dbstat WHERE name = 'items' AND pagetype = 'leaf'"))
    let kept = Double(try database.integer("SELECT sum(pgsize) FROM dbstat WHERE name = 'mesh_record'")) / rows
    let key = Double(try database.integer("SELECT sum(length(id)) FROM items")) / rows
    return [
      Figure(
        what: "change sets of a row in batches of \(Self.batch) / the row itself", ours: sent, theirs: row / rows,
        unit: "bytes", aim: .ratio(1.3)),
      Figure(
        what: "metadata of a live row beyond its key, pages of mesh_record", ours: kept - key, unit: "bytes",
        aim: .value(60)),
    ]
  }
}
