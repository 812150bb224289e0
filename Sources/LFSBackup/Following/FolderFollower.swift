import LFSSystem
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Follows folders: tells what a backup has to look at, as soon as it has settled. Linux alone tells of changes; on
/// other systems the folders are walked now and then.
///
/// ```swift
/// let follower = FolderFollower(FolderSource([BackupGroup("/home/ada/Pictures", .include)]))
/// while true {
///     let batch = try await follower.next()
///     try await Backup(lfs, database, batch.source, host).run()
/// }
/// ```
///
/// A file has settled when it was closed by whoever has written it, or moved to its place, and has not changed for
/// ``FollowOptions/settle``. Names that are gone by then do not matter, and what is deleted is not told. While nothing
/// changes it takes no more than a look at the named paths each minute.
///
/// - No system tells what another machine changes in a folder of the network, what is written by a mapping of a file,
///   and which file without a name gets its first one: ``FollowOptions/rescan`` finds that.
/// - One task at a time asks for the next batch.
public final class FolderFollower: Sendable {
    private struct State {
        var watch: FolderWatch?
        var settling: SettlingNames
        /// Folders that are new and not watched yet.
        var arrived: Set<AssetName> = []
        /// Those of the named ones that are not there.
        var gone: Set<AssetName> = []
        /// What the named paths led to when everything was walked last, and when that was looked at last.
        var identities: [AssetName: FileIdentity] = [:]
        var lastRootCheck: Duration?
        /// Those that are empty folders, as where a disk is to be mounted, which the system does not tell.
        var emptyRoots: Set<AssetName> = []
        /// When something happened that was not told.
        var lostAt: Duration?
        var lastWalk: Duration?
        var isWalking = false
        /// Why the system tells nothing, or not of all folders.
        var shortage: SystemError?
    }

    private let source: FolderSource
    private let options: FollowOptions
    private let tellNote: @Sendable (FollowNote) -> Void
    private let elapsed: @Sendable () -> Duration
    private let changed = Signal()
    private let state: Mutex<State>

    /// A follower, which begins with its first batch.
    ///
    /// - Parameters:
    ///   - source: the folders and files.
    ///   - options: how long they settle, and how often everything is walked.
    ///   - onNote: is told what else a person may want to know, from any thread.
    public init(
        _ source: FolderSource, options: FollowOptions = FollowOptions(),
        onNote: @escaping @Sendable (FollowNote) -> Void = { _ in }
    ) {
        (self.source, self.options, tellNote) = (source, options, onNote)
        elapsed = options.clock.stopwatch()
        state = Mutex(State(settling: SettlingNames(options.settle)))
    }

    /// How many folders the system tells of now.
    public var folderCount: Int { state.withLock { $0.watch }?.count ?? 0 }

    /// Whether any of what was named was there when everything was walked last.
    public var hasRoots: Bool { state.withLock { $0.gone.count } < source.roots.count }

    /// What has to be looked at next. The first batch is all there is; a walk through its source begins the watching.
    ///
    /// - Throws: ``BackupError/Code/groupAbsent``; `CancellationError`.
    public func next() async throws -> FollowBatch {
        noteWalk()
        while true {
            try Task.checkCancellation()
            try await checkRoots()
            if let batch = try await walk() { return batch }
            let arrived = state.withLock { state in
                defer { state.arrived = [] }
                return state.arrived
            }
            if !arrived.isEmpty {
                try await enter(arrived)
                continue
            }
            let settled = state.withLock { $0.settling.take(at: elapsed()) }
            if settled.isEmpty {
                await wait()
                continue
            }
            let names = try await stillSettled(settled)
            if !names.isEmpty { return FollowBatch(source: source.only(names), count: names.count) }
        }
    }

    /// Has a file come again in a later batch: it has changed while it was read.
    ///
    /// - Returns: false when it looks as it did when a batch had it last, so that it would fail once more.
    @discardableResult
    public func putBack(_ name: AssetName, seen stamp: AssetStamp?) async throws -> Bool {
        let now = try await BlockingPool.shared.run { _ in Self.look(name) }
        guard let now, now.stamp != stamp?.text else { return false }
        note([(name, now.stamp)])
        return true
    }

    // MARK: Walks through everything

    /// The batch of such a walk, if there has to be one.
    private func walk() async throws -> FollowBatch? {
        let now = elapsed()
        let isFirst = state.withLock { $0.lastWalk == nil }
        guard isFirst || state.withLock({ walkTime($0) }).map({ $0 <= now }) == true else { return nil }
        let (roots, identities, emptyRoots) = try await BlockingPool.shared.run { [source] _ in
            let identities = Self.identities(of: source.roots)
            return (
                source.roots, identities, identities.keys.filter { FolderWalk.names(in: $0)?.isEmpty == true }
            )
        }
        let there = roots.filter { identities[$0] != nil }
        var watch = state.withLock { $0.lostAt == nil && $0.shortage == nil ? $0.watch : nil }
        var shortage: SystemError?
        if watch == nil {
            do { watch = try FolderWatch { [weak self] in self?.take($0) } } catch { shortage = error }
        }
        let (new, problem) = (watch, shortage)
        state.withLock { state in
            (state.watch, state.shortage, state.lostAt, state.lastWalk) = (new, problem, nil, now)
            state.gone = Set(roots).subtracting(there)
            state.emptyRoots = Set(emptyRoots)
            state.identities = identities
            state.lastRootCheck = now
            state.isWalking = true
        }
        // Those that are not there were told, and the first walk tells them.
        var whole = isFirst ? source : source.only(there)
        if let new { whole = whole.watched(by: new) }
        return FollowBatch(source: whole, count: nil)
    }

    /// Looks whether the named paths lead to other folders than before. No system reports a changed link above a folder
    /// that is watched, or a disk that is mounted over it.
    private func checkRoots() async throws {
        let now = elapsed()
        guard let due = state.withLock({ rootCheckTime($0) }), due <= now else { return }
        let found = try await BlockingPool.shared.run { [source] _ in Self.identities(of: source.roots) }
        let replaced = state.withLock { state in
            state.lastRootCheck = now
            let replaced = state.identities.filter { name, identity in found[name].map { $0 != identity } ?? false }
            if !replaced.isEmpty { state.lostAt = now }
            for name in replaced.keys { state.identities[name] = found[name] }
            return replaced.keys.sorted { $0.description < $1.description }
        }
        for name in replaced { tellNote(.replaced(name)) }
    }

    private static func identities(of roots: [AssetName]) -> [AssetName: FileIdentity] {
        Dictionary(
            roots.compactMap { root in FileIdentity(at: root).map { (root, $0) } }, uniquingKeysWith: { $1 })
    }

    private func rootCheckTime(_ state: State) -> Duration? { state.lastRootCheck.map { $0 + options.rootCheck } }

    /// When everything has to be walked again; nil for never.
    private func walkTime(_ state: State) -> Duration? {
        var times: [Duration] = []
        // What comes in a flood is over by then.
        if let lostAt = state.lostAt { times.append(lostAt + options.settle) }
        if let lastWalk = state.lastWalk {
            let isIncomplete = state.shortage != nil || !state.gone.isEmpty || !state.emptyRoots.isEmpty
            let interval = options.rescan ?? (isIncomplete ? FollowOptions.usualRescan : nil)
            if let interval { times.append(lastWalk + interval) }
        }
        return times.min()
    }

    /// Looks at what a walk has come to.
    private func noteWalk() {
        let watch = state.withLock { $0.watch }
        let shortage = watch?.shortage
        let note = state.withLock { state -> SystemError? in
            guard state.isWalking else { return nil }
            state.isWalking = false
            state.lastWalk = elapsed()
            if let shortage { state.shortage = shortage }
            return state.shortage
        }
        if let note { tellNote(.limited(folders: watch?.count ?? 0, reason: note.reason, isLimit: note.isNoSpace)) }
    }

    // MARK: Changes

    /// Called as things happen.
    private func take(_ changes: [FolderChange]) {
        var notes: [(AssetName, String?)] = []
        var (arrived, gone): (Set<AssetName>, Set<AssetName>) = ([], [])
        var isLost = false
        for change in changes {
            switch change {
            case .written(let name):
                if source.mayTake(name), let now = Self.look(name) { notes.append((name, now.stamp)) }
            case .created(let name):
                // One that is about to be written is told when it is closed; another name of a file and a link are not.
                if source.mayTake(name), let now = Self.look(name), now.isShared || now.isLink && source.hasEntries {
                    notes.append((name, now.stamp))
                }
            case .folder(let name): arrived.insert(name)
            case .left(let name): arrived.remove(name)
            case .gone(let name): gone.insert(name)
            case .lost: isLost = true
            }
        }
        let (foundArrived, foundGone, lost) = (arrived, gone, isLost)
        let names = Set(changes.compactMap(\.arrival))
        let isNews = state.withLock { state in
            state.arrived.formUnion(foundArrived)
            state.gone.formUnion(foundGone)
            // Where something happens that is told, no disk is to come.
            if !state.emptyRoots.isEmpty {
                let told = state.emptyRoots.filter { root in
                    names.contains { $0.bytes.starts(with: root.appending([]).bytes) }
                }
                state.emptyRoots.subtract(told)
            }
            let isFirst = lost && state.lostAt == nil
            // It may be there again in a moment.
            if lost || !foundGone.isEmpty { state.lostAt = elapsed() }
            return isFirst
        }
        note(notes)
        for name in foundGone { tellNote(.gone(name)) }
        if isNews { tellNote(.lost) }
    }

    private func note(_ names: [(AssetName, String?)]) {
        let now = elapsed()
        let unsettled = state.withLock { state in
            names.filter { name, stamp in state.settling.note(name, stamp, at: now) }.map(\.0)
        }
        changed.notify()
        for name in unsettled { tellNote(.unsettled(name)) }
    }

    /// Watches folders that are new, and lets what is in them settle.
    private func enter(_ folders: Set<AssetName>) async throws {
        guard let watch = state.withLock({ $0.watch }) else { return }
        let source = source.only(folders).watched(by: watch)
        let found = try await BlockingPool.shared.run { flag in
            var walk = try source.makeWalk()
            var found: [(AssetName, String?)] = []
            while !flag.isCancelled, let item = walk.next() {
                switch item {
                case .asset(let asset): found.append((asset.id, asset.stamp.text))
                // Told when it has settled.
                case .unreadable(let name, _): found.append((name, Self.look(name)?.stamp))
                case .passedOver: break
                // A link has settled as soon as it is there, and folders come with what is in them.
                case .entry(let entry):
                    if case .link = entry.kind { found.append((entry.id, Self.look(entry.id)?.stamp)) }
                }
            }
            return found
        }
        if let shortage = watch.shortage, state.withLock({ $0.shortage == nil }) {
            state.withLock { $0.shortage = shortage }
            tellNote(.limited(folders: watch.count, reason: shortage.reason, isLimit: shortage.isNoSpace))
        }
        note(found)
    }

    /// Those that look as they did when they were told. The others go on settling, if they are there at all.
    private func stillSettled(_ settled: [SettlingNames.Settled]) async throws -> [AssetName] {
        let looks = try await BlockingPool.shared.run { _ in settled.map { Self.look($0.name)?.stamp } }
        var (names, changed): ([AssetName], [(AssetName, String?)]) = ([], [])
        for (settled, stamp) in zip(settled, looks) {
            guard let stamp else { continue }
            if stamp == settled.stamp { names.append(settled.name) } else { changed.append((settled.name, stamp)) }
        }
        if !changed.isEmpty { note(changed) }
        return names
    }

    private func wait() async {
        let due = state.withLock { [$0.settling.due, walkTime($0), rootCheckTime($0)].compactMap(\.self).min() }
        guard let due else { return await changed.wait() }
        let (time, clock, changed) = (max(due - elapsed(), .zero), options.clock, changed)
        await race({ await changed.wait() }, { await clock.wait(for: time) })
    }

    /// Nil when nothing has the name.
    private static func look(_ name: AssetName) -> (stamp: String, isShared: Bool, isLink: Bool)? {
        var status = stat()
        guard name.withCString({ lstat($0, &status) }) == 0 else { return nil }
        return (AssetStamp(status).text, status.st_nlink > 1, status.st_mode & S_IFMT == S_IFLNK)
    }
}

extension Clock where Duration == Swift.Duration {
    /// Tells how much time has gone by since now.
    fileprivate func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
