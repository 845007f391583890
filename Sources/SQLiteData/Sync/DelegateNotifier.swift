/// Tells a delegate the news of its engine, one after another.
struct DelegateNotifier: Sendable {
  private let delegate: any SyncEngineDelegate
  private let stream: AsyncStream<SyncNews>
  private let news: AsyncStream<SyncNews>.Continuation

  init(_ delegate: any SyncEngineDelegate) {
    self.delegate = delegate
    (stream, news) = AsyncStream.makeStream()
  }

  /// Begins to tell the news, until `end`.
  func begin(for engine: SyncEngine) {
    Task { [weak engine, self] in
      for await item in stream {
        guard let engine else { return }
        await tell(item, of: engine)
      }
    }
  }

  func end() { news.finish() }

  func announce(_ items: [SyncNews]) {
    for item in items { news.yield(item) }
  }

  /// Asks whether the rows of a share that ended for this account stay.
  func keepsRows(of share: Share, _ engine: SyncEngine) -> Bool {
    !delegate.syncEngine(engine, shouldDeleteRowsOf: share)
  }

  private func tell(_ item: SyncNews, of engine: SyncEngine) async {
    switch item {
    case .account(let change): await delegate.syncEngine(engine, accountChanged: change)
    case .shareReceived(let share): await delegate.syncEngine(engine, shareReceived: share)
    case .shareChanged(let share): await delegate.syncEngine(engine, shareChanged: share)
    case .shareRevoked(let share): await delegate.syncEngine(engine, shareRevoked: share)
    case .conflict(let conflict): await delegate.syncEngine(engine, foundConflict: conflict)
    case .held(let counts): await delegate.syncEngine(engine, heldRecordsChanged: counts)
    case .failed(let error): await delegate.syncEngine(engine, failedWith: error)
    }
  }
}
