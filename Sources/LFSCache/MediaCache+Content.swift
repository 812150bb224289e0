public import Foundation
import LFSSystem
import Synchronization

extension MediaCache {
    // MARK: Reading

    /// The content that is kept under a key, from memory or from the disk; nil when there is none.
    ///
    /// - Parameter key: what it was stored under.
    public func content(for key: CacheKey) async -> Data? {
        if let content = memory.content(key) { return content }
        while !disk.isClosed {
            switch flights.look(key, memory: { memory.content(key) }) {
            case .content(let content): return content
            case .read(let generation):
                guard let found = await disk.find(key).entry else { return nil }
                guard keep(found, key, readAt: generation) else { continue }
                return found.content
            }
        }
        return nil
    }

    /// Puts into memory what was read from the disk. Returns false when something was removed or stored meanwhile.
    private func keep(
        _ found: (content: Data, tags: [CacheTag]), _ key: CacheKey, readAt generation: Flights.Generation
    ) -> Bool {
        let isCurrent = flights.fill(readAt: generation) {
            memory.insert(found.content, key, tags: found.tags, isUse: true)
        }
        if isCurrent { diskHits.add(1, ordering: .relaxed) }
        return isCurrent
    }

    /// The content that is kept under a key, or else what the closure loads, which is kept then.
    ///
    /// While a load is under way, all others who ask for the key wait for it. When it throws, they get the same error;
    /// when the task that loads is cancelled, one of the others loads in its turn. A removal that comes while it loads
    /// wins: those who have asked before it get the content, it is not kept, and who asks afterwards loads anew.
    ///
    /// - Parameters:
    ///   - key: what it is kept under.
    ///   - tags: what it is made from, for ``invalidate(_:)-(CacheTag)``.
    ///   - load: runs in the calling task, and is asked for at most one key at a time.
    /// - Throws: what the closure throws; `CancellationError` when the task is cancelled while it waits.
    public func content(
        for key: CacheKey, tags: Set<CacheTag> = [], load: () async throws -> Data
    ) async throws -> Data {
        if let content = memory.content(key) { return content }
        switch flights.join(key, tags: tags, memory: { memory.content(key) }) {
        case .content(let content): return content
        case .lead(let id): return try await lead(id, key, load)
        case .wait(let id, let waiter):
            switch await waiter.wait(onCancel: { flights.leave(id, waiter) }) {
            case .content(let content): return content
            case .failed(let error): throw error
            case .left: throw CancellationError()
            case .lead: return try await lead(id, key, load)
            }
        }
    }

    private func lead(_ id: Flights.ID, _ key: CacheKey, _ load: () async throws -> Data) async throws -> Data {
        if Task.isCancelled {
            flights.handOver(id)
            throw CancellationError()
        }
        if flights.isReading(id), let content = await read(id, key) { return content }
        let content: Data
        do {
            loads.add(1, ordering: .relaxed)
            content = try await load()
        } catch {
            // Whoever was cancelled says nothing about the content.
            if error is CancellationError || Task.isCancelled { flights.handOver(id) } else { flights.fail(id, error) }
            throw error
        }
        await keep(content.compact, key, id)
        return content
    }

    /// Looks on the disk for a flight. Nil when nothing is there; the flight loads from then on.
    private func read(_ id: Flights.ID, _ key: CacheKey) async -> Data? {
        while !disk.isClosed {
            switch flights.look(key, memory: { memory.content(key) }) {
            case .content(let content):
                flights.land(id, content)
                return content
            case .read(let generation):
                let look = await disk.find(key)
                guard let found = look.entry else {
                    flights.beginLoading(id, removalsElsewhere: look.removalsElsewhere)
                    return nil
                }
                guard keep(found, key, readAt: generation) else { continue }
                flights.land(id, found.content)
                return found.content
            }
        }
        flights.beginLoading(id, removalsElsewhere: nil)
        return nil
    }

    /// Gives what was loaded to all who wait, and writes it.
    private func keep(_ content: Data, _ key: CacheKey, _ id: Flights.ID) async {
        let isClosed = disk.isClosed
        let tags = flights.loaded(id, content) { tags in
            if !isClosed { memory.insert(content, key, tags: Array(tags), isUse: false) }
        }
        guard let tags else { return }
        await write(content, key, tags: tags, id, loadedSince: flights.removalsElsewhere(id))
    }

    /// Writes for a flight, and ends it.
    ///
    /// - Parameter loadedSince: what other processes had removed before the load; nil for a content that is given.
    private func write(
        _ content: Data, _ key: CacheKey, tags: Set<CacheTag>, _ id: Flights.ID, loadedSince removals: Int64? = nil
    ) async {
        let (flights, memory) = (flights, memory)
        let evicted = await disk.store(
            StoredEntry(key, tags: tags, content: content), limit(of: key.kind), loadedSince: removals,
            mayKeep: { flights.mayKeep(id) }, uses: { memory.takeUses(key.kind) })
        memory.remove(evicted)
        flights.end(id)
    }

    // MARK: Writing

    /// Keeps a content under a key, in the place of another one. Returns when it is written, or cannot be.
    ///
    /// - Parameters:
    ///   - content: the bytes.
    ///   - key: what it is kept under.
    ///   - tags: what it is made from, for ``invalidate(_:)-(CacheTag)``.
    public func store(_ content: Data, for key: CacheKey, tags: Set<CacheTag> = []) async {
        if disk.isClosed { return }
        let content = content.compact
        let id = flights.beginStore(key, tags: tags, content) {
            memory.insert(content, key, tags: Array(tags), isUse: false)
        }
        await write(content, key, tags: tags, id)
    }

    // MARK: Removing

    /// Takes out one entry.
    ///
    /// - Parameter key: what it was stored under.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func remove(_ key: CacheKey) async throws { try await remove(.key(key)) }

    /// Takes out all that was made from something, in every kind. A load of it that is under way is not kept.
    ///
    /// - Parameter tag: what has changed.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func invalidate(_ tag: CacheTag) async throws { try await remove(.tags([tag])) }

    /// As the one for one tag, in one transaction.
    ///
    /// - Parameter tags: what has changed.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func invalidate(_ tags: some Sequence<CacheTag>) async throws { try await remove(.tags(Set(tags))) }

    /// Takes out everything of a kind.
    ///
    /// - Parameter kind: the kind.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func removeAll(of kind: CacheKind) async throws { try await remove(.kind(kind)) }

    /// Takes out everything.
    ///
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func removeAll() async throws { try await remove(.all) }

    /// Memory is emptied twice: at once, and of what was read from the disk before the rows went.
    private func remove(_ selection: Selection) async throws {
        flights.beginRemoval(selection)
        memory.remove(selection)
        let result = await Result.catching { try await disk.remove(selection) }
        flights.endRemoval()
        memory.remove(selection)
        try result.get()
    }
}

extension Data {
    /// The same bytes in memory of their own, so that a slice does not keep all that it is a part of.
    fileprivate var compact: Data { withUnsafeBytes { Data($0) } }
}
