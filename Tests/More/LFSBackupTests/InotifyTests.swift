import TestSupport
import Testing

@testable import LFSBackup

@Suite("Inotify events", .timeLimit(.minutes(10)))
struct InotifyTests {
    /// Returns the bytes of one event, with the zeros that the kernel adds to a name.
    private func bytes(_ folder: Int32, kind: InotifyEvent.Kind, name: String = "", zeros: Int = 3) -> [UInt8] {
        let name = name.isEmpty ? [] : Array(name.utf8) + [UInt8](repeating: 0, count: zeros)
        let numbers = [UInt32(bitPattern: folder), kind.rawValue, 7, UInt32(name.count)]
        return numbers.flatMap { number in withUnsafeBytes(of: number) { Array($0) } } + name
    }

    private func event(_ folder: Int32, kind: InotifyEvent.Kind, name: String = "") -> InotifyEvent {
        InotifyEvent(folder: folder, kind: kind, name: Array(name.utf8))
    }

    @Test("Events are read wherever the bytes are split, and names end at their first zero")
    func partial() {
        let all = [
            event(1, kind: .created, name: "a"), event(2, kind: [.movedHere, .ofFolder], name: "caf\u{E9}"),
            event(1, kind: .selfDeleted),
        ]
        let bytes =
            bytes(1, kind: .created, name: "a") + bytes(2, kind: [.movedHere, .ofFolder], name: "caf\u{E9}")
            + bytes(1, kind: .selfDeleted)
        for cut in 0...bytes.count {
            var rest = Array(bytes[..<cut])
            var events = InotifyEvent.take(from: &rest)
            #expect(rest.count < 16 + 8)
            rest += bytes[cut...]
            events += InotifyEvent.take(from: &rest)
            #expect(events == all && rest.isEmpty, "cut at \(cut)")
        }
    }

    @Test("Bytes that are not an event are reported as an overflow and dropped")
    func nonsense() {
        var rest = bytes(1, kind: .created, name: "a") + [UInt8](repeating: 0xFF, count: 40)
        #expect(InotifyEvent.take(from: &rest) == [event(1, kind: .created, name: "a"), event(-1, kind: .overflow)])
        #expect(rest.isEmpty)
    }

    @Test("A moved folder reports its new path, and one with two paths reports both")
    func moved() {
        var folders = WatchedFolders()
        folders.add(1, at: AssetName("/p"), isRoot: true)
        folders.add(2, at: AssetName("/p/a"))
        folders.add(3, at: AssetName("/p/a/b"))
        folders.add(4, at: AssetName("/p/ab"))
        folders.add(3, at: AssetName("/link"), isRoot: true)
        #expect(
            Set(folders.changes(of: event(3, kind: .closedAfterWriting, name: "x")))
                == [.written(AssetName("/p/a/b/x")), .written(AssetName("/link/x"))])
        #expect(folders.changes(of: event(1, kind: [.movedAway, .ofFolder], name: "a")) == [.left(AssetName("/p/a"))])
        #expect(folders.leave(AssetName("/p/a")) == [2])
        #expect(folders.changes(of: event(2, kind: .closedAfterWriting, name: "x")).isEmpty)
        #expect(folders.changes(of: event(3, kind: .movedHere, name: "x")) == [.written(AssetName("/link/x"))])
        #expect(folders.changes(of: event(4, kind: .created, name: "x")) == [.created(AssetName("/p/ab/x"))])
        #expect(folders.count == 3)
    }

    @Test("The folder of a named file reports only that name until it is named as well")
    func named() {
        var folders = WatchedFolders()
        folders.add(1, at: AssetName("/p"), names: .only([Array("a".utf8)]), isRoot: true)
        folders.add(1, at: AssetName("/p"), names: .only([Array("b".utf8)]), isRoot: true)
        #expect(folders.changes(of: event(1, kind: .closedAfterWriting, name: "b")) == [.written(AssetName("/p/b"))])
        #expect(folders.changes(of: event(1, kind: .closedAfterWriting, name: "c")).isEmpty)
        #expect(folders.changes(of: event(1, kind: [.created, .ofFolder], name: "a")).isEmpty)
        folders.add(1, at: AssetName("/p"), isRoot: true)
        #expect(folders.changes(of: event(1, kind: .closedAfterWriting, name: "c")) == [.written(AssetName("/p/c"))])
    }

    @Test("The loss of a named folder and lost events are reported")
    func gone() {
        var folders = WatchedFolders()
        folders.add(1, at: AssetName("/p"), isRoot: true)
        folders.add(2, at: AssetName("/p/a"))
        #expect(folders.changes(of: event(2, kind: .selfDeleted)).isEmpty)
        #expect(folders.changes(of: event(2, kind: .ended)).isEmpty && folders.count == 1)
        #expect(folders.changes(of: event(1, kind: .selfMoved)) == [.gone(AssetName("/p"))])
        #expect(folders.changes(of: event(-1, kind: .overflow)) == [.lost])
    }

    @Test("A name settles after a time without changes, and many names settle together")
    func settling() {
        var names = ChangeDebouncer(.seconds(5))
        #expect(names.due == nil)
        for number in 0..<1_000 { names.note(AssetName("\(number)"), stamp: "1", at: .milliseconds(100 + number / 2)) }
        names.note(AssetName("late"), stamp: "1", at: .milliseconds(1_700))
        #expect(names.due == .seconds(6))
        #expect(names.take(at: .milliseconds(5_999)).isEmpty)
        names.note(AssetName("7"), stamp: "2", at: .milliseconds(5_999))
        let settled = names.take(at: .seconds(6))
        #expect(settled.count == 999 && !settled.contains { $0.name == AssetName("7") })
        #expect(names.due == .seconds(7) && names.take(at: .seconds(7)).map(\.name) == [AssetName("late")])
        #expect(names.take(at: .seconds(11)) == [.init(name: AssetName("7"), stamp: "2")])
        #expect(names.isEmpty && names.due == nil)
    }

    @Test("A name that keeps changing is reported once after a minute")
    func unsettled() {
        var names = ChangeDebouncer(.seconds(5))
        let reported = (0..<200).filter { names.note(AssetName("log"), stamp: "\($0)", at: .seconds($0)) }
        #expect(reported == [60])
        let taken = names.take(at: .seconds(300))
        #expect(taken.count == 1)
        let isReportedAgain = names.note(AssetName("log"), stamp: "later", at: .seconds(400))
        #expect(!isReportedAgain)
    }

    @Test("A path tree contains its paths and the folders that lead to them only")
    func tree() {
        let tree = PathTree([AssetName("/a/b/c"), AssetName("/a/b/d"), AssetName("/a/b/c/e"), AssetName("/x")])
        #expect(Set(tree.names(in: AssetName("/a/b")).map { String(decoding: $0, as: UTF8.self) }) == ["c", "d"])
        #expect(Set(tree.names(in: AssetName("/")).map { String(decoding: $0, as: UTF8.self) }) == ["a", "x"])
        #expect(tree.ends(at: AssetName("/a/b/c")) && !tree.ends(at: AssetName("/a/b")))
        #expect(tree.leads(AssetName("/a")) && tree.leads(AssetName("/x")) && !tree.leads(AssetName("/y")))
    }
}
