/// Events ordered by their time. Events with the same time keep the order in which they were added. It is a binary
/// heap.
struct EventQueue<Event> {
  private struct Entry {
    let time: Int64
    let order: UInt64
    let event: Event
    func isBefore(_ other: Entry) -> Bool { (time, order) < (other.time, other.order) }
  }

  private var heap: [Entry] = []
  private var added: UInt64 = 0

  var count: Int { heap.count }

  mutating func add(_ event: Event, at time: Int64) {
    added += 1
    heap.append(Entry(time: time, order: added, event: event))
    var child = heap.count - 1
    while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func next() -> (time: Int64, event: Event)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (first.time, first.event)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].isBefore(heap[least]) {
        least = child
      }
      if least == parent { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
