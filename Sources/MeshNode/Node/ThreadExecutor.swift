import Dispatch

/// Runs jobs one after the other on a thread outside the cooperative pool, so that they may block.
final class ThreadExecutor: SerialExecutor, TaskExecutor {
  private let queue: DispatchQueue

  /// - Parameter label: The name of the queue, for debuggers.
  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }
}
