import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The hosts that this user has named on a command line, one on each line of the file `lfs/hosts` in the folder of the
/// user's configuration.
///
/// A database may come from another person. The storage that it remembers gets tokens and passwords of the environment
/// only if its host is in the list.
package struct TrustedHosts: Sendable {
    package let path: String

    /// - Parameter environment: where `XDG_CONFIG_HOME` and `HOME` are looked for.
    package init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        var folder = "\(FileManager.default.homeDirectoryForCurrentUser.path)/.config"
        if let home = environment["HOME"], home.hasPrefix("/") { folder = home + "/.config" }
        if let named = environment["XDG_CONFIG_HOME"], named.hasPrefix("/") { folder = named }
        path = folder + "/lfs/hosts"
    }

    /// - Throws: ``UploaderError`` for a list that is there and cannot be read.
    package func contains(_ host: String) throws -> Bool { try lines().contains { $0 == host } }

    /// Adds a host that the person has named. The run goes on where the list cannot be written.
    package func note(_ host: String) {
        do {
            if try !contains(host) { try add(host) }
        } catch {
            Console.message(
                """
                uploader: \(Words.of(error)) Commands without --to will not send the storage on \(host) any credentials.
                """)
        }
    }

    /// Lets a storage that only the database names have the credentials of the environment.
    ///
    /// - Parameter isAllowed: whether the command line allows it.
    /// - Throws: ``UploaderError`` for a host that the person has neither named nor allowed.
    func require(_ host: String, of storage: String, isAllowed: Bool) throws {
        if try contains(host) { return }
        let question = """
            No command of this user has named \(host) before: the database says that its files are on \(storage). \
            Send the credentials of the environment there?
            """
        guard isAllowed || Question.isConfirmed(question) == true else {
            throw UploaderError(
                """
                The database says that its files are on \(storage), and no command of this user has named \(host) \
                before, so no credentials were sent there. Give --to with the storage, or --trust-storage if the \
                database comes from you.
                """)
        }
        note(host)
    }

    private func lines() throws -> [String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            if FilePath(path).isGone { return [] }
            throw UploaderError("The list of hosts \(path) cannot be read.")
        }
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func add(_ host: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        // Whatever fails here is reported by the opening of the file.
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let number = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0o600)
        guard number >= 0 else { throw failure() }
        defer { close(number) }
        // A person may have edited the list and left no end of the line.
        var last: UInt8 = 0x0A
        let length = lseek(number, 0, SEEK_END)
        if length > 0 { _ = pread(number, &last, 1, length - 1) }
        let line = Array(((last == 0x0A ? "" : "\n") + host + "\n").utf8)
        guard line.withUnsafeBytes({ systemWriteAll(number, $0) }) else { throw failure() }
    }

    private func failure() -> UploaderError {
        UploaderError("The list of hosts \(path) cannot be written: \(String(cString: strerror(errno))).")
    }
}
