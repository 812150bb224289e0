import CommandLineOptions
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The hosts that this user has named on a command line. They are in the file `lfs/hosts` in the user's configuration
/// folder, one per line.
///
/// A database may come from another person. Tokens and passwords from the environment are only sent to the storage and
/// the sync server that it records if the host is in this list.
package struct TrustedHosts: Sendable {
    package let path: String

    /// - Parameter environment: the environment with `XDG_CONFIG_HOME` and `HOME`.
    package init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        path = OptionSources.folder(in: environment) + "/hosts"
    }

    /// Returns true if the list has a host.
    ///
    /// - Throws: ``UploaderError`` if the list exists but is unreadable.
    package func contains(_ host: String) throws -> Bool { try lines().contains { $0 == host } }

    /// Adds a host that the user has named. If the list cannot be written, the run continues.
    package func note(_ host: String) {
        do {
            if try !contains(host) { try add(host) }
        } catch {
            Console.message(
                """
                uploader: \(ErrorMessages.of(error)) Commands that do not name \(host) will send no credentials there.
                """)
        }
    }

    /// Verifies that the credentials of the environment may be sent to a host that only the database names.
    ///
    /// - Parameters:
    ///   - claim: what the database says, such as `its files are on s3://photos`.
    ///   - option: the option that would name the host.
    ///   - isAllowed: true if the command line allows it.
    /// - Throws: ``UploaderError`` for a host that the user has neither named nor allowed.
    func require(_ host: String, claim: String, option: String, isAllowed: Bool) throws {
        if try contains(host) { return }
        let question = """
            No command of this user has named \(host) before: the database says that \(claim). Send the credentials \
            of the environment there?
            """
        guard isAllowed || Question.isConfirmed(question) == true else {
            throw UploaderError(
                """
                The database says that \(claim), and no command of this user has named \(host) before, so no \
                credentials were sent there. Give \(option), or --trust-storage if the database comes from you.
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
        // If this fails, the error of opening the file is reported.
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let number = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0o600)
        guard number >= 0 else { throw failure() }
        defer { close(number) }
        // A user may have edited the list without a final line break.
        var last: UInt8 = 0x0A
        let length = lseek(number, 0, SEEK_END)
        if length > 0 { _ = pread(number, &last, 1, length - 1) }
        let line = Array(((last == 0x0A ? "" : "\n") + host + "\n").utf8)
        guard line.withUnsafeBytes({ systemWriteAll(number, bytes: $0) }) else { throw failure() }
    }

    private func failure() -> UploaderError {
        UploaderError("The list of hosts \(path) cannot be written: \(String(cString: strerror(errno))).")
    }
}
