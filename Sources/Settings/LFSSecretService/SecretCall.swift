#if os(Linux)
import CSecret
import LFSSettings
import LFSSystem
import Synchronization

/// A call of the store. It runs operations of libsecret one after another, and all of them end at the call's deadline
/// or with its task.
///
/// An operation that the service has not answered by then is cancelled, and the call does not wait for it.
///
/// One mutex owns its state.
package final class SecretCall: Sendable {
    private struct State {
        /// The error that ended the call before its operation finished.
        var end: (any Error)?
        /// Ends the current operation.
        var abandon: (@Sendable (any Error) -> Void)?
        /// The bus name of the service's process.
        var process: String?
    }

    private let cancellable = ObjectReference(lfs_secret_cancellable())
    private let state = Mutex(State())

    /// Runs the body.
    ///
    /// - Throws: ``SettingsError`` with the code `locked` at the deadline or `keychainUnavailable` without libsecret,
    ///   and `CancellationError`.
    package static func run<Result: Sendable>(
        deadline: Duration, clock: any Clock<Duration>,
        _ body: @escaping @Sendable (SecretCall) async throws -> Result
    ) async throws -> Result {
        try SecretLoop.load()
        let call = SecretCall()
        return try await withTaskCancellationHandler {
            let ends: [Swift.Result<Result, any Error>?] = await race(
                {
                    do { return .success(try await body(call)) } catch { return .failure(error) }
                },
                {
                    await clock.wait(for: deadline)
                    // The wait is cancelled when the body has ended or the caller was cancelled.
                    if !Task.isCancelled { call.end(SecretFailure.expired(deadline)) }
                    return nil
                })
            guard let result = ends.compactMap({ $0 }).first else { throw CancellationError() }
            return try result.get()
        } onCancel: {
            call.end(CancellationError())
        }
    }

    /// Runs one operation.
    ///
    /// - Parameters:
    ///   - start: calls a function of libsecret, on the thread of ``SecretLoop``.
    ///   - finish: calls the function that ends it, on the same thread.
    func perform<Value: Sendable>(
        _ start:
            @escaping @Sendable (
                UnsafeMutableRawPointer, @escaping lfs_secret_answer, UnsafeMutableRawPointer
            ) -> Void,
        _ finish:
            @escaping @Sendable (UnsafeMutableRawPointer?, inout UnsafeMutablePointer<lfs_secret_error>?) -> Value
    ) async throws -> Value {
        let waiter = Waiter<Result<Value, any Error>>()
        let end = state.withLock { state -> (any Error)? in
            state.abandon = { waiter.resume(returning: .failure($0)) }
            return state.end
        }
        if let end { throw end }
        let completion = Completion { result in
            waiter.resume(
                returning: Result {
                    var error: UnsafeMutablePointer<lfs_secret_error>?
                    let value = finish(result, &error)
                    guard let error else { return value }
                    defer { lfs_secret_error_free(error) }
                    throw SecretFailure.Reply(error)
                })
        }
        SecretLoop.run { [cancellable] in
            let context = Unmanaged.passRetained(completion).toOpaque()
            start(
                cancellable.pointer,
                { _, result, context in
                    Unmanaged<Completion>.fromOpaque(context!).takeRetainedValue().body(result)
                }, context)
        }
        return try await waiter.wait().get()
    }

    /// Returns true if the call still uses the process of the service with which it started.
    func keeps(_ process: String?) -> Bool {
        state.withLock { state in
            state.process = state.process ?? process
            return state.process == process
        }
    }

    private func end(_ error: any Error) {
        let abandon = state.withLock { state -> (@Sendable (any Error) -> Void)? in
            guard state.end == nil else { return nil }
            state.end = error
            return state.abandon
        }
        abandon?(error)
        // Cancels on the thread of ``SecretLoop``, which then also receives the answers of the operation.
        SecretLoop.run { [cancellable] in lfs_secret_cancel(cancellable.pointer) }
    }

    private final class Completion: Sendable {
        let body: @Sendable (UnsafeMutableRawPointer?) -> Void
        init(_ body: @escaping @Sendable (UnsafeMutableRawPointer?) -> Void) { self.body = body }
    }
}
#endif
