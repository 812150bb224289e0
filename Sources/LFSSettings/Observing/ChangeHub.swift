import LFSSystem
import Synchronization

/// Tells those who observe a key that it may have changed. They look for themselves.
///
/// Owner of the list of observers: one mutex, under which nobody is told.
final class ChangeHub: Sendable {
    private struct State {
        var lastID = 0
        var byName: [String: [Int: Observer]] = [:]
        var isClosed = false
    }

    private struct Observer {
        let signal: Signal
        let isInDatabase: Bool
        /// Which names it is about; nil for the one that it is listed by.
        var isAbout: (@Sendable (String) -> Bool)?
    }

    /// Lists those who choose names themselves: no key has it.
    private static let anyName = ""

    private let state = Mutex(State())

    var observerCount: Int { state.withLock { $0.byName.values.reduce(0) { $0 + $1.count } } }

    /// Whether there is anybody to tell.
    var isObserved: Bool { state.withLock { !$0.byName.isEmpty } }

    /// Whether nobody will be told any more.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The names that are observed beside the database.
    var namesBesideDatabase: [String] {
        state.withLock { state in
            state.byName.filter { $0.value.values.contains { !$0.isInDatabase } }.map(\.key)
        }
    }

    func subscribe(_ name: String, isInDatabase: Bool) -> Subscription {
        subscribe(name, Observer(signal: Signal(), isInDatabase: isInDatabase))
    }

    /// Observes the keys in the database that a condition picks. It is not told that a row is gone: of those that are
    /// not to be missed a note stays.
    func subscribe(where isAbout: @escaping @Sendable (String) -> Bool) -> Subscription {
        subscribe(Self.anyName, Observer(signal: Signal(), isInDatabase: true, isAbout: isAbout))
    }

    private func subscribe(_ name: String, _ observer: Observer) -> Subscription {
        let id = state.withLock { state in
            state.lastID += 1
            state.byName[name, default: [:]][state.lastID] = observer
            return state.lastID
        }
        return Subscription(hub: self, name: name, id: id, signal: observer.signal)
    }

    fileprivate func unsubscribe(_ name: String, _ id: Int) {
        state.withLock { state in
            state.byName[name]?[id] = nil
            if state.byName[name]?.isEmpty == true { state.byName[name] = nil }
        }
    }

    func notify(_ names: some Sequence<String>) {
        let names = Array(names)
        let signals = state.withLock { state in
            let choosing = state.byName[Self.anyName]?.values.filter { observer in
                names.contains { observer.isAbout?($0) ?? true }
            }
            return names.flatMap { state.byName[$0]?.values.map(\.signal) ?? [] } + (choosing ?? []).map(\.signal)
        }
        for signal in signals { signal.notify() }
    }

    /// Tells those who observe a key in the database that rows are gone, whose names nobody knows any more.
    func notifyGone() {
        let signals = state.withLock { state in
            state.byName.values.flatMap { $0.values.filter { $0.isInDatabase && $0.isAbout == nil }.map(\.signal) }
        }
        for signal in signals { signal.notify() }
    }

    /// Tells all who observe a key in the database.
    func notifyDatabase() {
        let signals = state.withLock { state in
            state.byName.values.flatMap { $0.values.filter(\.isInDatabase).map(\.signal) }
        }
        for signal in signals { signal.notify() }
    }

    /// Tells all who observe anything.
    func notifyAll() {
        let signals = state.withLock { state in state.byName.values.flatMap { $0.values.map(\.signal) } }
        for signal in signals { signal.notify() }
    }

    /// Ends all observations.
    func close() {
        let signals = state.withLock { state in
            state.isClosed = true
            return state.byName.values.flatMap { $0.values.map(\.signal) }
        }
        for signal in signals { signal.notify() }
    }
}

/// One observer's place in the hub, until the last reference goes.
final class Subscription: Sendable {
    private let hub: ChangeHub
    private let name: String
    private let id: Int
    /// Is notified when there may be a change.
    let signal: Signal

    fileprivate init(hub: ChangeHub, name: String, id: Int, signal: Signal) {
        (self.hub, self.name, self.id, self.signal) = (hub, name, id, signal)
    }

    deinit { hub.unsubscribe(name, id) }

    /// Returns when there may be a change since the last call.
    ///
    /// - Returns: false when the hub is closed or the task is cancelled.
    func wait() async -> Bool {
        if isOver { return false }
        await signal.wait()
        return !isOver
    }

    var isOver: Bool { hub.isClosed || Task.isCancelled }
}
