import Foundation
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Limits on open files", .timeLimit(.minutes(10)))
struct OpenCallTests {
    @Test("Opening a file waits while the limit on open files is reached", arguments: [EMFILE, ENFILE])
    func waits(_ code: Int32) throws {
        var failures = 3
        var pauses = 0
        let number = try OpenCall.run("a") {
            pauses += 1
        } _: {
            guard failures > 0 else { return 7 }
            failures -= 1
            errno = code
            return -1
        }
        #expect(number == 7)
        #expect(pauses == 3)
    }

    @Test("The last descriptors are left to the system's libraries")
    func reserve() throws {
        // Another test may raise the limit at the same time.
        OpenFileLimit.raise()
        let last = Int32(OpenFileLimit.current - 1)
        var numbers = [last, 0]
        let number = try OpenCall.run("a") {
        } _: {
            fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, numbers.removeFirst())
        }
        #expect(numbers.isEmpty && number < last)
        #expect(fcntl(last, F_GETFD) == -1)
        close(number)
    }

    @Test("A file that was created with a reserved descriptor is opened again")
    func created() async throws {
        // Another test may raise the limit, or use the last descriptor, at the same time.
        OpenFileLimit.raise()
        let last = Int32(OpenFileLimit.current - 2)
        let flags = O_RDWR | O_CREAT | O_EXCL
        try await withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("new").path
            var attempts: [Int32] = []
            let number = try OpenCall.run(path, flags: flags) {
            } _: { flags in
                attempts.append(flags)
                let number = open(path, flags, 0o600)
                guard attempts.count == 1, number >= 0 else { return number }
                defer { close(number) }
                return fcntl(number, F_DUPFD_CLOEXEC, last)
            }
            close(number)
            #expect(attempts == [flags, O_RDWR | O_CREAT])
            #expect(number < last)
            // A file of another writer is still refused.
            #expect(throws: SystemError.self) { try OpenCall.run(path, flags: flags) { open(path, $0, 0o600) } }
        }
    }

    @Test("Every other error of opening a file is thrown at once", arguments: [ENOENT, EACCES, EIO, ENOMEM])
    func throwsAtOnce(_ code: Int32) {
        var pauses = 0
        let error = #expect(throws: SystemError.self) {
            _ = try OpenCall.run("a") {
                pauses += 1
            } _: {
                errno = code
                return -1
            }
        }
        #expect(error?.errno == code)
        #expect(pauses == 0)
    }

    @Test("Raising the limit on open files raises it to what the system allows")
    func raise() {
        OpenFileLimit.raise()
        var limits = rlimit()
        #if canImport(Glibc)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #else
        getrlimit(RLIMIT_NOFILE, &limits)
        #endif
        #expect(OpenFileLimit.current >= Int(min(limits.rlim_max, 10_240)))
        #expect(OpenFileLimit.share == (OpenFileLimit.current - 40) / 4)
    }

    @Test("The error for too many open files names the limit and how to raise it")
    func words() {
        let error = SystemError(call: "open", path: "a", errno: EMFILE)
        #expect("\(error)".contains("\(OpenFileLimit.current) is the limit of this process: raise it with ulimit -n"))
    }
}
