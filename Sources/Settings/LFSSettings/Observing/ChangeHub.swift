import LFSSystem
import Synchronization

/// A hub that notifies the observers of a key when it may have changed. The observers read the value themselves.
///
/// One mutex owns the list of observers. It is not held while they are notified.
final class ChangeHub: Sendable {
    private struct State {
        var lastID = 0
        var byName: [String: [Int: Observer]] = [:]
        var isClosed = false
    }

    private struct Observer {
        let signal: Signal
        let isInDatabase: Bool
        /// The condition for names. Nil for an observer of the name under which it is listed.
        var isAbout: (@Sendable (String) -> Bool)?
    }

    /// The name under which `byName` has the observers with a condition. No key has this name.
    private static let anyName = ""

    private let state = Mutex(State())

    var observerCount: Int { state.withLock { $0.byName.values.reduce(0) { $0 + $1.count } } }

    var isObserved: Bool { state.withLock { !$0.byName.isEmpty } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    var namesBesideDatabase: [String] {
        state.withLock { state in
            state.byName.filter { $0.value.values.contains { !$0.isInDatabase } }.map(\.key)
        }
    }

    func subscribe(_ name: String, isInDatabase: Bool) -> Subscription {
        subscribe(name, observer: Observer(signal: Signal(), isInDatabase: isInDatabase))
    }

    /// Observes the keys in the database that match a condition. The observer is not notified of deleted rows. For
    /// synced keys a removal keeps a row as its record, so it is not missed.
    func subscribe(where isAbout: @escaping @Sendable (String) -> Bool) -> Subscription {
        subscribe(Self.anyName, observer: Observer(signal: Signal(), isInDatabase: true, isAbout: isAbout))
    }

    private func subscribe(_ name: String, observer: Observer) -> Subscription {
        let id = state.withLock { state in
            state.lastID += 1
            state.byName[name, default: [:]][state.lastID] = observer
            return state.lastID
        }
        return Subscription(hub: self, name: name, id: id, signal: observer.signal)
    }

    fileprivate func unsubscribe(_ name: String, id: Int) {
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

    /// Notifies the observers of keys in the database that rows were deleted, whose names are no longer known.
    func notifyGone() { notify { $0.isInDatabase && $0.isAbout == nil } }

    func notifyDatabase() { notify(where: \.isInDatabase) }

    func notifyAll() { notify { _ in true } }

    func close() {
        state.withLock { $0.isClosed = true }
        notifyAll()
    }

    private func notify(where isMeant: (Observer) -> Bool) {
        let signals = state.withLock { state in
            state.byName.values.flatMap { $0.values.filter(isMeant).map(\.signal) }
        }
        for signal in signals { signal.notify() }
    }
}

/// The registration of one observer, which ends with its last reference.
final class Subscription: Sendable {
    private let hub: ChangeHub
    private let name: String
    private let id: Int
    /// The signal that is notified when there may be a change.
    let signal: Signal

    fileprivate init(hub: ChangeHub, name: String, id: Int, signal: Signal) {
        self.hub = hub
        self.name = name
        self.id = id
        self.signal = signal
    }

    deinit { hub.unsubscribe(name, id: id) }

    /// Waits for a possible change since the last call.
    ///
    /// - Returns: false if the hub is closed or the task is cancelled.
    func wait() async -> Bool {
        if isOver { return false }
        await signal.wait()
        return !isOver
    }

    var isOver: Bool { hub.isClosed || Task.isCancelled }
}
