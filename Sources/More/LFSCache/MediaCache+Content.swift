public import Foundation
import LFSSystem
import Synchronization

extension MediaCache {
    // MARK: Reading

    /// Returns the content stored under a key, from memory or from the disk, or nil if none is stored.
    ///
    /// - Parameter key: the key under which the content was stored.
    public func content(for key: CacheKey) async -> Data? {
        if let content = memory.content(key) { return content }
        while !disk.isClosed {
            switch flights.look(key, memory: { memory.content(key) }) {
            case .content(let content): return content
            case .read(let generation):
                guard let found = await disk.find(key).entry else { return nil }
                guard keep(found, key: key, readAt: generation) else { continue }
                return found.content
            }
        }
        return nil
    }

    /// Puts content from the disk into memory. Returns false if a removal or a store happened in the meantime.
    private func keep(
        _ found: (content: Data, tags: [CacheTag]), key: CacheKey, readAt generation: InFlightLoads.Generation
    ) -> Bool {
        let isCurrent = flights.fill(readAt: generation) {
            memory.insert(found.content, key: key, tags: found.tags, isUse: true)
        }
        if isCurrent { diskHits.add(1, ordering: .relaxed) }
        return isCurrent
    }

    /// Returns the content stored under a key. If none is stored, calls the closure and stores its result.
    ///
    /// During a load, all other tasks that request the key wait for it. If the load throws, they get the same error. If
    /// the loading task is cancelled, one of the waiting tasks calls its own closure. A removal during the load takes
    /// precedence: the tasks that requested the key before it get the content, but the content is not kept. Tasks that
    /// request the key after the removal load again.
    ///
    /// - Parameters:
    ///   - key: the key under which the content is stored.
    ///   - tags: the sources of the content, for ``invalidate(_:)-(CacheTag)``.
    ///   - load: runs in the calling task. At most one load per key runs at a time.
    /// - Throws: errors of the closure, and `CancellationError` when the task is cancelled while it waits.
    public func content(
        for key: CacheKey, tags: Set<CacheTag> = [], load: () async throws -> Data
    ) async throws -> Data {
        if let content = memory.content(key) { return content }
        switch flights.join(key, tags: tags, memory: { memory.content(key) }) {
        case .content(let content): return content
        case .lead(let id): return try await lead(id, key: key, load)
        case .wait(let id, let waiter):
            switch await waiter.wait(onCancel: { flights.leave(id, waiter: waiter) }) {
            case .content(let content): return content
            case .failed(let error): throw error
            case .left: throw CancellationError()
            case .lead: return try await lead(id, key: key, load)
            }
        }
    }

    private func lead(_ id: InFlightLoads.ID, key: CacheKey, _ load: () async throws -> Data) async throws -> Data {
        if Task.isCancelled {
            flights.handOver(id)
            throw CancellationError()
        }
        if flights.isReading(id), let content = await read(id, key: key) { return content }
        let content: Data
        do {
            loads.add(1, ordering: .relaxed)
            content = try await load()
        } catch {
            // The cancellation of this task says nothing about the content.
            if error is CancellationError || Task.isCancelled {
                flights.handOver(id)
            } else {
                flights.fail(id, error: error)
            }
            throw error
        }
        await keep(content.compact, key: key, id: id)
        return content
    }

    /// Reads the disk for a flight. Returns nil if the disk has no entry. The flight is then in its loading phase.
    private func read(_ id: InFlightLoads.ID, key: CacheKey) async -> Data? {
        while !disk.isClosed {
            switch flights.look(key, memory: { memory.content(key) }) {
            case .content(let content):
                flights.land(id, content: content)
                return content
            case .read(let generation):
                let look = await disk.find(key)
                guard let found = look.entry else {
                    flights.beginLoading(id, removalsElsewhere: look.removalsElsewhere)
                    return nil
                }
                guard keep(found, key: key, readAt: generation) else { continue }
                flights.land(id, content: found.content)
                return found.content
            }
        }
        flights.beginLoading(id, removalsElsewhere: nil)
        return nil
    }

    /// Passes loaded content to all waiting tasks, and writes it.
    private func keep(_ content: Data, key: CacheKey, id: InFlightLoads.ID) async {
        let isClosed = disk.isClosed
        let tags = flights.loaded(id, content: content) { tags in
            if !isClosed { memory.insert(content, key: key, tags: Array(tags), isUse: false) }
        }
        guard let tags else { return }
        await write(content, key: key, tags: tags, id: id, loadedSince: flights.removalsElsewhere(id))
    }

    /// Writes content for a flight, and ends the flight.
    ///
    /// - Parameter loadedSince: the number of removals by other openings before the load. Nil for content that the app
    ///   provides.
    private func write(
        _ content: Data, key: CacheKey, tags: Set<CacheTag>, id: InFlightLoads.ID,
        loadedSince removals: Int64? = nil
    ) async {
        let (flights, memory) = (flights, memory)
        let evicted = await disk.store(
            StoredEntry(key, tags: tags, content: content), limit: limit(of: key.kind), loadedSince: removals,
            mayKeep: { flights.mayKeep(id) }, uses: { memory.takeUses(key.kind) })
        memory.remove(evicted)
        flights.end(id)
    }

    // MARK: Writing

    /// Stores content under a key, in place of an existing entry. Returns when the content is written, or when the
    /// write has failed.
    ///
    /// - Parameters:
    ///   - content: the bytes.
    ///   - key: the key under which the content is stored.
    ///   - tags: the sources of the content, for ``invalidate(_:)-(CacheTag)``.
    public func store(_ content: Data, for key: CacheKey, tags: Set<CacheTag> = []) async {
        if disk.isClosed { return }
        let content = content.compact
        let id = flights.beginStore(key, tags: tags, content: content) {
            memory.insert(content, key: key, tags: Array(tags), isUse: false)
        }
        await write(content, key: key, tags: tags, id: id)
    }

    // MARK: Removing

    /// Removes one entry.
    ///
    /// - Parameter key: the key under which it was stored.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func remove(_ key: CacheKey) async throws { try await remove(.key(key)) }

    /// Removes all entries of every kind that were derived from a source. Loads of such entries in progress are not
    /// kept.
    ///
    /// - Parameter tag: the source that has changed.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func invalidate(_ tag: CacheTag) async throws { try await remove(.tags([tag])) }

    /// Removes all entries that were derived from any of several sources, in one transaction.
    ///
    /// - Parameter tags: the sources that have changed.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func invalidate(_ tags: some Sequence<CacheTag>) async throws { try await remove(.tags(Set(tags))) }

    /// Removes all entries of a kind.
    ///
    /// - Parameter kind: the kind.
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func removeAll(of kind: CacheKind) async throws { try await remove(.kind(kind)) }

    /// Removes all entries.
    ///
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    public func removeAll() async throws { try await remove(.all) }

    /// Removes entries. Memory is emptied twice: at once, and again of entries that were read from the disk before
    /// their rows were deleted.
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
    /// The same bytes in a separate allocation, so that a slice does not retain the data it is part of.
    fileprivate var compact: Data { withUnsafeBytes { Data($0) } }
}
