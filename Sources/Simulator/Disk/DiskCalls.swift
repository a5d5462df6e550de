import CSQLite

/// The functions that SQLite calls, each passed on to the process or the open file that it is for.
enum DiskCalls {
  /// Julian day of 1970-01-01T00:00Z, in ms.
  private static let epoch: Int64 = 210_866_760_000_000

  private static func process(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> DiskProcess {
    Unmanaged<DiskProcess>.fromOpaque(vfs!.pointee.pAppData).takeUnretainedValue()
  }

  private static func handle(_ file: UnsafeMutablePointer<sqlite3_file>?) -> DiskHandle {
    let room = UnsafeMutableRawPointer(file!).assumingMemoryBound(to: DiskFile.self)
    return Unmanaged<DiskHandle>.fromOpaque(room.pointee.handle!).takeUnretainedValue()
  }

  static var vfs: sqlite3_vfs {
    var vfs = sqlite3_vfs()
    vfs.iVersion = 2
    vfs.szOsFile = Int32(MemoryLayout<DiskFile>.size)
    vfs.mxPathname = 512
    vfs.xOpen = { vfs, name, file, flags, outFlags in
      let process = DiskCalls.process(vfs)
      file!.pointee.pMethods = nil
      guard let handle = process.open(name.map { String(cString: $0) }, flags) else {
        return SQLITE_CANTOPEN
      }
      process.attach(handle, to: file!)
      outFlags?.pointee = flags
      return SQLITE_OK
    }
    vfs.xDelete = { vfs, name, syncsFolder in
      let process = DiskCalls.process(vfs)
      return process.perform(.remove, failure: DiskFailure.delete) {
        process.disk.remove(String(cString: name!), syncsFolder: syncsFolder != 0)
        return SQLITE_OK
      }
    }
    vfs.xAccess = { vfs, name, _, result in
      let file = DiskCalls.process(vfs).disk.file(String(cString: name!))
      result!.pointee = (file?.bytes.count ?? 0) > 0 ? 1 : 0
      return SQLITE_OK
    }
    vfs.xFullPathname = { _, name, size, result in
      let bytes = String(cString: name!).utf8CString
      guard bytes.count <= size else { return SQLITE_CANTOPEN }
      for (index, byte) in bytes.enumerated() { result![index] = byte }
      return SQLITE_OK
    }
    vfs.xRandomness = { vfs, count, bytes in
      DiskCalls.process(vfs).fill(
        UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
      return count
    }
    // Whoever waits, waits for another connection of this thread: in vain.
    vfs.xSleep = { _, microseconds in microseconds }
    vfs.xCurrentTimeInt64 = { vfs, result in
      result!.pointee = DiskCalls.process(vfs).wall + DiskCalls.epoch
      return SQLITE_OK
    }
    vfs.xGetLastError = { _, _, _ in 0 }
    return vfs
  }

  static var methods: sqlite3_io_methods {
    var methods = sqlite3_io_methods()
    methods.iVersion = 2
    methods.xClose = { file in
      let handle = DiskCalls.handle(file)
      handle.process.close(handle)
      return SQLITE_OK
    }
    methods.xRead = { file, bytes, count, offset in
      DiskCalls.handle(file).read(
        into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
    }
    methods.xWrite = { file, bytes, count, offset in
      DiskCalls.handle(file).write(
        UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
    }
    methods.xTruncate = { DiskCalls.handle($0).truncate(to: Int($1)) }
    methods.xSync = { file, _ in DiskCalls.handle(file).sync() }
    methods.xFileSize = { file, result in
      result!.pointee = sqlite3_int64(DiskCalls.handle(file).file.bytes.count)
      return SQLITE_OK
    }
    methods.xLock = { DiskCalls.handle($0).lock($1) }
    methods.xUnlock = { DiskCalls.handle($0).unlock($1) }
    methods.xCheckReservedLock = { file, result in
      result!.pointee = DiskCalls.handle(file).file.locks.isReserved ? 1 : 0
      return SQLITE_OK
    }
    methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
    methods.xSectorSize = { _ in Int32(Disk.sector) }
    methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
    addSharedMemory(to: &methods)
    return methods
  }

  private static func addSharedMemory(to methods: inout sqlite3_io_methods) {
    methods.xShmMap = { file, region, size, extends, result in
      let mapped = DiskCalls.handle(file).map(
        Int(region), size: Int(size), extends: extends != 0)
      result!.pointee = mapped.region
      return mapped.code
    }
    methods.xShmLock = { file, offset, count, flags in
      DiskCalls.handle(file).lockShared(Int(offset)..<Int(offset + count), flags)
    }
    methods.xShmBarrier = { _ in }
    methods.xShmUnmap = { file, _ in
      DiskCalls.handle(file).unmapShared()
      return SQLITE_OK
    }
  }
}
