import Dispatch
import Synchronization

/// A value behind a mutex and a plain value, changed by four threads. With `race` the plain value has no lock.
final class Shared: Sendable {
    let guarded = Mutex<[Int]>([])
    nonisolated(unsafe) var open = 0
}

let shared = Shared()
let races = CommandLine.arguments.contains("race")
DispatchQueue.concurrentPerform(iterations: 4) { _ in
    for step in 0..<200_000 {
        shared.guarded.withLock { values in
            values.append(step)
            if values.count > 10 { values.removeAll() }
        }
        if races { shared.open += 1 }
    }
}
