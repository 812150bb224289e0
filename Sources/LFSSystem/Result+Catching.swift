extension Result {
    /// What an asynchronous body returns or throws. For who has something to do in either case before it goes on.
    package static func catching(_ body: () async throws(Failure) -> Success) async -> Self {
        do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
}
