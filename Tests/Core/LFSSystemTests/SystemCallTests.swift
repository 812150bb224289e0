import Foundation
import TestSupport
import Testing

@testable import LFSSystem

@Suite("System calls", .timeLimit(.minutes(10)))
struct SystemCallTests {
    @Test("A system call is repeated while signals interrupt it")
    func interrupted() throws {
        var calls = 0
        let result = try checked("read", "here") { () -> Int32 in
            calls += 1
            errno = EINTR
            return calls < 4 ? -1 : 7
        }
        #expect(result == 7 && calls == 4)
    }

    @Test("The error of a system call names the call, the path and the reason")
    func failing() {
        let error = #expect(throws: SystemError.self) {
            try checked("open", "/some/path") { () -> Int32 in
                errno = ENOSPC
                return -1
            }
        }
        #expect(error?.isNoSpace == true && error?.isMissing == false)
        #expect(error?.description.hasPrefix("open /some/path: ") == true)
    }

    @Test("The error of opening a socket means that it is not a regular file", arguments: [ENXIO, EOPNOTSUPP])
    func socket(code: Int32) {
        #expect(SystemError(call: "open", path: "socket", errno: code).isNoFile)
    }

    @Test("Only an unknown command of fcntl leads to a weaker one")
    func unknownCommands() {
        func isUnknown(_ code: Int32) -> Bool {
            SystemError(call: "fcntl", path: "file", errno: code).isUnknownCommand
        }
        #expect([ENOTSUP, EINVAL, ENOTTY].allSatisfy(isUnknown))
        #expect(![EIO, EINTR, ENOSPC, EBADF].contains(where: isUnknown))
    }

    @Test("Removing a folder as a file fails with `EISDIR`, not with a lack of permission")
    func removingFolder() async throws {
        try await withTemporaryFolder { folder in
            let directory = try Directory.open(folder.path)
            _ = try Directory.openOrMake(folder.child("inner").path)
            let error = #expect(throws: SystemError.self) { try directory.remove("inner") }
            #expect(error?.errno == EISDIR && error?.isPermissionDenied == false)
            #expect(try names(in: folder) == ["inner"])
        }
    }

    @Test("Calls on a directory never follow links or overwrite existing files")
    func directory() async throws {
        try await withTemporaryFolder { folder in
            let directory = try Directory.openOrMake(folder.child("own").path)
            try Data([1]).write(to: folder.child("target"))
            try FileManager.default.createSymbolicLink(
                at: folder.child("own").child("link"), withDestinationURL: folder.child("target"))
            #expect(#expect(throws: SystemError.self) { try directory.openForReading("link") }?.isSymbolicLink == true)
            #expect(#expect(throws: SystemError.self) { try directory.create("link") }?.isExisting == true)
            #expect(throws: SystemError.self) { try directory.openOrCreate("link") }
            _ = try directory.create("a")
            _ = try directory.create("b")
            let error = #expect(throws: SystemError.self) {
                try directory.renameExclusively("a", to: directory, as: "b")
            }
            #expect(error?.isExisting == true)
            for (number, falls) in [(EINVAL, true), (ENOSYS, true), (EPERM, true), (EEXIST, false), (ENOENT, false)] {
                let refusal = SystemError(call: "renameat2", path: "b", errno: number)
                #expect(refusal.isWithoutExclusiveRename == falls, "\(number)")
            }
            let other = #expect(throws: SystemError.self) {
                try directory.linkExclusively("a", to: directory, as: "b")
            }
            #expect(other?.isExisting == true)
            try directory.linkExclusively("a", to: directory, as: "c")
            #expect(try names(in: folder.child("own")) == ["b", "c", "link"])
            try directory.renameExclusively("c", to: directory, as: "a")
            #expect(try names(in: folder.child("own")) == ["a", "b", "link"])
            #expect(try permissions(of: folder.child("own")) == 0o700)
            #expect(try permissions(of: folder.child("own").child("a")) == 0o600)
        }
    }

    #if os(Linux)
    @Test("A new subfolder is returned only when its name is durable")
    func subfolderNotDurable() async throws {
        try await withTemporaryFolder { folder in
            let directory = try Directory.openOrMake(folder.child("own").path)
            _ = try directory.openOrMake("before")
            try directory.withDescriptor { descriptor throws(SystemError) in try breakSync(of: descriptor) }
            let error = #expect(throws: SystemError.self) { try directory.openOrMake("inner") }
            #expect(error?.call == "fsync")
            _ = try directory.openOrMake("before")
        }
    }
    #endif

    @Test("A directory is listed in pages, whatever bytes its names have")
    func listing() async throws {
        try await withTemporaryFolder { folder in
            let directory = try Directory.open(folder.path)
            let wanted = (0..<25).map { "file \($0)" } + ["new\nline", ".hidden", String(repeating: "n", count: 255)]
            for name in wanted { _ = try directory.create(name) }
            let cursor = try directory.names()
            var found: [String] = []
            while true {
                let page = try cursor.next(limit: 4)
                if page.isEmpty { break }
                #expect(page.count <= 4)
                found += page.map { String(decoding: $0, as: UTF8.self) }
            }
            #expect(found.sorted() == wanted.sorted())
        }
    }

    @Test("A file lock has one exclusive holder or several shared holders")
    func locks() async throws {
        try await withTemporaryFolder { folder in
            let directory = try Directory.open(folder.path)
            let first = try FileLock(directory.openOrCreate("lock"))
            let second = try FileLock(directory.openOrCreate("lock"))
            #expect(try first.tryLock(.shared) && second.tryLock(.shared))
            #expect(try !first.tryLock(.exclusive))
            try second.unlock()
            #expect(try first.tryLock(.exclusive))
            #expect(try !second.tryLock(.shared))
            try first.unlock()
            #expect(try second.tryLock(.exclusive))
        }
    }
}
