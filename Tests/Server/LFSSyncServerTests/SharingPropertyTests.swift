import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Correctness of sharing in random runs", .timeLimit(.minutes(30)))
struct SharingPropertyTests {
    /// The seeds of the runs. `LFS_SYNC_RUNS` sets their number and `LFS_SYNC_RUNS_FIRST` the first one.
    static let seeds: Range<Int> = {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["LFS_SYNC_RUNS_FIRST"].flatMap { Int($0) } ?? 1
        return first..<first + (environment["LFS_SYNC_RUNS"].flatMap { Int($0) } ?? 4)
    }()

    @Test("Random sharing sends each reader all visible rows and no others")
    func random() async throws {
        let counted = Mutex(0)
        try await TestStore.forEach(Self.seeds) { seed in
            try await SharingServer.run(isQuick: true) { server in
                var run = SharingRun(server, seed: UInt64(seed))
                try await run.go(steps: 120)
                let count = run.lineCount
                counted.withLock { $0 += count }
            }
        }
        let lines = counted.withLock { $0 }
        print("Lines checked: \(lines) in \(Self.seeds.count) runs, from seed \(Self.seeds.lowerBound) on")
        #expect(lines > 100)
    }
}

/// Random accounts that share rows, with a model of what each can see.
private struct SharingRun {
    private let server: TestServer
    private var random: any RandomNumberGenerator
    private var people: [Person] = []
    private var model = SharingModel(names: [:])
    private(set) var lineCount = 0
    private let seed: UInt64
    /// The actions so far, which are printed with a failure.
    private var story: [String] = []

    init(_ server: TestServer, seed: UInt64) {
        self.server = server
        self.seed = seed
        random = TestStore.random(seed)
    }

    mutating func go(steps: Int) async throws {
        for name in ["ann", "bob", "cat", "dan"] {
            for _ in 0..<(name == "ann" ? 2 : 1) { people.append(try await server.person(name)) }
        }
        model = SharingModel(names: Dictionary(people.map { ($0.id, $0.name) }) { first, _ in first })
        for step in 0..<steps {
            try await act(step)
            let wrong = try await server.wrongCounters()
            #expect(wrong == nil, "seed \(seed) after \(story.suffix(20))")
            if below(3) == 0 { try await stream(people[below(people.count)]) }
        }
        for person in people {
            try await stream(person, isWhole: true)
            let last = try await person.sync()
            #expect(last == [], "seed \(seed), \(person.name)")
        }
    }

    // MARK: Actions

    private mutating func act(_ step: Int) async throws {
        let person = people[below(people.count)]
        let other = people[below(people.count)]
        let file = model.files.keys.sorted().isEmpty ? "none" : pick(model.files.keys.sorted())
        let album = model.albums.isEmpty ? "none" : pick(model.albums.keys.sorted())
        let link = SharingModel.Pair(album, second: file)
        let member = SharingModel.Pair(album, second: other.id)
        switch below(15) {
        case 0, 1:
            expect(true, outcome: try await person.file("f\(step)"), what: "\(person.name) adds f\(step)")
            model.files["f\(step)"] = person.id
        case 2:
            expect(true, outcome: try await person.album("x\(step)"), what: "\(person.name) adds x\(step)")
            model.albums["x\(step)"] = person.id
        case 3, 4, 5:
            let isEditor = below(2) == 0
            let may = model.albums[album] == person.id
            expect(
                may, outcome: try await person.share(album, other: other, role: isEditor ? "editor" : "viewer"),
                what: "\(person.name) shares \(album) with \(other.name) \(isEditor)")
            if may { model.members[member] = isEditor }
        case 6:
            guard model.members[member] != nil else { return }
            let may = model.albums[album] == person.id || person.id == other.id
            let isSeen = model.sees(person.id, row: "AlbumUser \(album)-\(other.name)")
            expect(
                may || !isSeen, outcome: try await person.unshare(album, other: other),
                what: "\(person.name) unshares \(album) from \(other.name)")
            if may { model.members[member] = nil }
        case 7, 8, 9:
            guard !model.links.contains(link) else { return }
            let may = model.edits(person.id, album: album) && model.sees(person.id, row: "File \(file)")
            expect(
                may, outcome: try await person.link(album, file: file), what: "\(person.name) links \(album) \(file)")
            if may { model.links.insert(link) }
        case 10:
            guard model.links.contains(link) else { return }
            let isSeen = model.sees(person.id, row: "AlbumFile \(album)-\(file)")
            let may = model.edits(person.id, album: album) && isSeen
            expect(
                may || !isSeen, outcome: try await person.unlink(album, file: file),
                what: "\(person.name) unlinks \(album) \(file)")
            if may { model.links.remove(link) }
        case 11:
            let pair = SharingModel.Pair(person.id, second: other.id)
            let gives = below(2) == 0
            expect(
                true, outcome: try await gives ? person.letRead(other) : person.stopLetting(other),
                what: "\(person.name) \(gives ? "lets" : "stops") \(other.name)")
            if gives { model.partners.insert(pair) } else { model.partners.remove(pair) }
        case 12:
            let may = model.files[file] == person.id
            expect(
                may, outcome: try await person.rename(file, name: "n\(step)"), what: "\(person.name) renames \(file)")
        case 13:
            try await remove(person, file: file, album: album)
        default: try await forget()
        }
    }

    private mutating func remove(_ person: Person, file: String, album: String) async throws {
        if below(2) == 0 {
            let isSeen = model.sees(person.id, row: "File \(file)")
            let may = model.files[file] == person.id
            expect(
                may || !isSeen, outcome: try await person.delete("FileV1", key: file),
                what: "\(person.name) deletes \(file)"
            )
            if may { model.deleteFile(file) }
        } else {
            let isSeen = model.sees(person.id, row: "Album \(album)")
            let may = model.albums[album] == person.id
            expect(
                may || !isSeen, outcome: try await person.delete("AlbumV1", key: album),
                what: "\(person.name) deletes \(album)")
            if may { model.deleteAlbum(album) }
        }
    }

    /// Prunes all deletions, as the server does after ninety days.
    private mutating func forget() async throws {
        story.append("forgets")
        try await server.execute(
            "UPDATE sync_scope SET prunedThrough = head WHERE head > prunedThrough",
            "DELETE FROM sync_tombstone", "DELETE FROM sync_member WHERE isDeleted = 1")
    }

    private mutating func expect(
        _ isRight: Bool, outcome: SyncMutationResult.Outcome, what: String
    ) {
        story.append(what)
        #expect(outcome.isApplied == isRight, "seed \(seed), step \(story.count): \(what): \(outcome)")
    }

    // MARK: Streams

    private mutating func stream(_ person: Person, isWhole: Bool = false) async throws {
        let cut = isWhole || below(2) == 0 ? nil : below(12)
        story.append("\(person.name) streams \(cut.map(String.init) ?? "all")")
        let visible = model.visible(to: person.id)
        for line in try await person.sync(cutAfter: cut) {
            if line.hasPrefix("!") || line.hasPrefix("reset") || Self.isDeletion(line) { continue }
            lineCount += 1
            let parts = line.split(separator: ": ").map(String.init)
            let scope = parts.count == 2 ? parts[0] : ""
            #expect(
                visible[scope]?.contains(parts[parts.count - 1]) == true,
                "seed \(seed), \(person.name) got \(line) after \(story.suffix(20))")
        }
        guard cut == nil else { return }
        let has = person.rows.mapValues { Set($0.keys) }.filter { !$0.value.isEmpty }
        #expect(has == visible, "seed \(seed), \(person.name) after \(story.suffix(40))")
    }

    private static func isDeletion(_ line: String) -> Bool {
        line.hasPrefix("-") || line.contains(": -")
    }

    private mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    private mutating func pick(_ names: [String]) -> String { names[below(names.count)] }
}
