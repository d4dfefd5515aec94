! Put and get between two images with coarrays. Built with gfortran and the library caf_openmpi.
!
!   coarray put|get SIZE ITERATIONS WARMUP SECONDS
!
! Image 1 writes SIZE bytes into the memory of image 2, or reads them from there, while image 2 waits for it. `sync
! memory` completes a put; a get is complete when its assignment is. Before anything is timed, every byte is compared.
! ITERATIONS 0 stands for as many as there is time for, at most MOST. Image 1 prints one JSON object: the time of each
! iteration in ns, or an error.
program coarray
    use, intrinsic :: iso_fortran_env, only: int8, int64, real64
    implicit none
    integer, parameter :: most = 50000, guard = 64
    integer(int8), parameter :: poison = -18_int8
    integer(int8), allocatable :: window(:)[:], local(:)
    integer(int64), allocatable :: times(:)
    integer(int64) :: began, start, now, rate
    integer, allocatable :: wrong[:]
    integer :: size, iterations, warmup, done, i
    real(real64) :: seconds
    character(len=32) :: call_name, word
    logical :: puts

    call run()

contains

    subroutine run()
        call get_command_argument(1, call_name)
        if (command_argument_count() /= 5 .or. (call_name /= "put" .and. call_name /= "get")) &
            error stop "coarray: write: coarray put|get SIZE ITERATIONS WARMUP SECONDS"
        call get_command_argument(2, word)
        read (word, *) size
        call get_command_argument(3, word)
        read (word, *) iterations
        call get_command_argument(4, word)
        read (word, *) warmup
        call get_command_argument(5, word)
        read (word, *) seconds
        puts = call_name == "put"
        if (num_images() /= 2) then
            if (this_image() == 1) write (*, '(a,i0,a)') '{"error": "coarray ran on ', num_images(), &
                ' images instead of 2: its launcher and its library are of different MPIs."}'
            return
        end if
        call system_clock(count_rate=rate)
        if (rate /= 1000000000_int64) error stop "coarray: the clock of this compiler does not count ns"

        allocate (window(size + guard)[*], wrong[*])
        allocate (local(size + guard))
        wrong = 0
        do i = 0, 1
            call verify(i)
        end do
        sync all
        if (this_image() == 1) wrong = wrong + wrong[2]
        sync all
        if (wrong[1] /= 0) then
            if (this_image() == 1) write (*, '(a,a,a,i0,a)') '{"error": "wrong bytes: ', trim(call_name), &
                ' of a coarray left ', wrong, ' bytes wrong. Nothing was timed."}'
            return
        end if

        if (iterations > 0) then
            allocate (times(iterations))
        else
            allocate (times(most))
        end if
        times = 0
        sync all
        done = 0
        if (this_image() == 1) then
            do i = 1, warmup
                call transfer_once()
            end do
            call system_clock(began)
            do i = 1, ubound(times, 1)
                call system_clock(start)
                call transfer_once()
                call system_clock(now)
                times(i) = now - start
                done = i
                if (iterations == 0 .and. real(now - began, real64) > seconds*1e9_real64) exit
            end do
        end if
        sync all
        if (this_image() == 1) then
            write (*, '(a)', advance='no') '{"time_ns": ['
            do i = 1, done
                if (i > 1) write (*, '(a)', advance='no') ','
                write (*, '(i0)', advance='no') times(i)
            end do
            write (*, '(a,i0,a)') '], "extras": {}, "warnings": [], "facts": {"verified": true, "warmup": ', warmup, '}}'
        end if
    end subroutine

    subroutine transfer_once()
        if (puts) then
            window(1:size)[2] = local(1:size)
            sync memory
        else
            local(1:size) = window(1:size)[2]
        end if
    end subroutine

    ! One transfer of a pattern between poisoned buffers; a byte behind the message must stay as it was.
    subroutine verify(round)
        integer, intent(in) :: round
        integer(int8) :: pattern(size)
        integer :: k

        do k = 1, size
            pattern(k) = int(mod(7*k + 31*round, 120), int8)
        end do
        local = poison
        window = poison
        if (puts) local(1:size) = pattern
        if (.not. puts) window(1:size) = pattern
        sync all
        if (this_image() == 1) call transfer_once()
        sync all
        if (puts .and. this_image() == 2) &
            wrong = wrong + merge(1, 0, any(window(size + 1:) /= poison)) + differing(window(1:size), pattern)
        if (.not. puts .and. this_image() == 1) &
            wrong = wrong + merge(1, 0, any(local(size + 1:) /= poison)) + differing(local(1:size), pattern)
        sync all
    end subroutine

    integer function differing(found, wanted)
        integer(int8), intent(in) :: found(:), wanted(:)
        differing = count(found /= wanted)
    end function

end program
