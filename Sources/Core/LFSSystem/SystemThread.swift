import Dispatch
import Foundation

/// Threads of the system.
package enum SystemThread {
    /// Starts a thread, which ends with the body.
    ///
    /// Foundation's `Thread` does not report a failure, so a caller would wait forever for a thread that was never
    /// created.
    /// - Parameters:
    ///   - name: see ``ThreadName``.
    ///   - body: runs on the thread.
    /// - Throws: `EAGAIN` if the user, the container or the system has too many threads.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        let code = create(start.toOpaque())
        guard code != 0 else { return }
        start.release()
        throw SystemError(call: "pthread_create", path: name, errno: code)
    }

    /// Starts several threads at once, and ends them.
    ///
    /// - Throws: `EAGAIN` if the user, the container or the system has too many threads.
    package static func check(count: Int) throws(SystemError) {
        let end = DispatchSemaphore(value: 0)
        var startedCount = 0
        defer { for _ in 0..<startedCount { end.signal() } }
        for _ in 0..<count {
            try start("lfs-check") { end.wait() }
            startedCount += 1
        }
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        static func run(_ start: UnsafeMutableRawPointer) {
            // No code joins the thread, so the system frees it when it ends.
            pthread_detach(pthread_self())
            let start = Unmanaged<Start>.fromOpaque(start).takeRetainedValue()
            ThreadName.set(start.name)
            start.body()
        }
    }

    private static func create(_ start: UnsafeMutableRawPointer) -> Int32 {
        #if canImport(Glibc)
        var thread = pthread_t()
        return pthread_create(
            &thread, nil,
            { start in
                if let start { Start.run(start) }
                return nil
            }, start)
        #elseif canImport(Musl)
        var thread: pthread_t?
        return pthread_create(
            &thread, nil,
            { start in
                if let start { Start.run(start) }
                return nil
            }, start)
        #else
        var thread: pthread_t?
        return pthread_create(
            &thread, nil,
            { start in
                Start.run(start)
                return nil
            }, start)
        #endif
    }
}
